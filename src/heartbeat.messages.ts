import type { Broker } from './broker/broker.js';
import type { ServerIdentity } from './format/records.js';
import type { ResolvedHeartbeatOptions } from './heartbeat.options.js';

/** What of Nest's modules the app has. */
export interface Found {
  readonly schedule: boolean;
  readonly events: boolean;
}

/** The one line that tells what was found at start. */
export function startLine(
  { host, pid, serverId }: ServerIdentity,
  { interval, ttl, leaseDuration, queues }: ResolvedHeartbeatOptions,
  broker: Broker,
  found: Found,
): string {
  const names = Object.entries(queues).map(([name, priority]) => `${name}=${String(priority)}`);
  return (
    `Server ${host}:${String(pid)}:${serverId} beats every ${String(interval)} ms (ttl ${String(ttl)} ms, ` +
    `leases ${String(leaseDuration)} ms) through ${broker.constructor.name}; queues ${names.join(', ')}; ` +
    `SchedulerRegistry ${found.schedule ? 'found' : 'not found'}, EventEmitter2 ${found.events ? 'found' : 'not found'}.`
  );
}

/** What is missing, and what to import; undefined when nothing is. */
export function findingsOf({ schedule, events }: Found): string | undefined {
  const missing: string[] = [];
  if (!schedule) {
    missing.push(
      'ScheduleModule is not imported: beats go on, but the app does not see their interval. ' +
        "Add ScheduleModule.forRoot() from '@nestjs/schedule' to the imports of your root module.",
    );
  }
  if (!events) {
    missing.push(
      'EventEmitterModule is not imported: track() works, but no event is heard or emitted. ' +
        "Add EventEmitterModule.forRoot() from '@nestjs/event-emitter' to the imports of your root module.",
    );
  }
  return missing.length > 0 ? missing.join(' ') : undefined;
}

export function missingShutdownHooks({ ttl }: ResolvedHeartbeatOptions): string {
  return (
    'Nothing handles SIGTERM: this server will not be cleared when it is told to end, and is seen for ' +
    `${String(ttl)} ms after. Call app.enableShutdownHooks() before app.listen().`
  );
}
