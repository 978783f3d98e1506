import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { moment } from '../../support/moments.js';
import type { Command, Event, Report } from './protocol.js';

/** The app's line to the test: commands come, reports go. Standard output belongs to the app's own log. */
export class ControlLine {
  private constructor(private readonly socket: Socket) {
    // Nobody is there any more whom all this is for.
    socket.once('close', () => process.exit(1));
    socket.on('error', () => process.exit(1));
  }

  static async open(port: number): Promise<ControlLine> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.setNoDelay(true);
    return new ControlLine(socket);
  }

  onCommand(obey: (command: Command) => void): void {
    const lines = createInterface({ input: this.socket });
    lines.on('line', (line) => {
      obey(JSON.parse(line) as Command);
    });
    lines.on('error', () => process.exit(1));
  }

  tell(event: Event): void {
    this.socket.write(`${JSON.stringify({ at: moment(), ...event } satisfies Report)}\n`);
  }
}
