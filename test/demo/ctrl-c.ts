import type { ReadStream } from 'node:tty';

const CTRL_C = '\u0003';

/**
 * Takes Ctrl-C as a key. As a signal it would also reach the shell that npm starts, which then calls an end in order
 * an interruption, and says so with exit code 130.
 *
 * @returns what gives the keyboard back.
 */
export function onCtrlC(keyboard: ReadStream, pressed: () => void): () => void {
  const onData = (keys: Buffer): void => {
    if (keys.includes(CTRL_C)) pressed();
  };
  keyboard.setRawMode(true).on('data', onData);
  return () => {
    keyboard.off('data', onData).setRawMode(false).pause();
  };
}
