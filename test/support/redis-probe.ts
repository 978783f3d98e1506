import { connect } from 'node:net';

const PROBE_TIMEOUT_MS = 500;

/**
 * Whether the Redis with this process id answers on a port. The id matters: when another Redis already holds the
 * port, it answers as well, while ours is about to give up.
 */
export async function probeRedis(port: number, pid: number | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let reply = '';
    const finish = (isReady: boolean): void => {
      socket.destroy();
      resolve(isReady);
    };
    socket.setEncoding('utf8').setTimeout(PROBE_TIMEOUT_MS, () => {
      finish(false);
    });
    socket.once('error', () => {
      finish(false);
    });
    socket.once('close', () => {
      finish(false);
    });
    socket.once('connect', () => socket.write('PING\r\nINFO server\r\n'));
    socket.on('data', (text: string) => {
      reply += text;
      // One that wants a password is ready too, but tells no more.
      if (reply.includes('-NOAUTH')) finish(true);
      else if (reply.startsWith('-')) finish(false);
      const answering = /process_id:(\d+)\r\n/.exec(reply)?.[1];
      if (answering !== undefined) finish(Number(answering) === pid);
    });
  });
}
