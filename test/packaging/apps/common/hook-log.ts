import { HeartbeatService } from 'nestjs-heartbeat';
import { report } from './report.js';

const HOOKS = ['onModuleDestroy', 'onApplicationShutdown'] as const;

/** Reports the library's own shutdown hooks among the app's, before and after each. */
export function logHooksOf(heartbeat: HeartbeatService): void {
  for (const name of HOOKS) {
    const hook = heartbeat[name].bind(heartbeat);
    heartbeat[name] = async () => {
      report('hook', { name: `heartbeat.${name}` });
      await hook();
      report('hook', { name: `heartbeat.${name} over` });
    };
  }
}
