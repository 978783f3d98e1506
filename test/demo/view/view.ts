import type { Snapshot } from './snapshot.js';

/** Shows the demo to somebody. What happens it hears from the feed; how things stand it asks for. */
export interface View {
  start(look: () => Snapshot): void;
  /** Shows the end, and leaves the terminal as it was. */
  stop(): void;
}
