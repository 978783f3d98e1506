/** What happens on a server, as far as somebody who watches may want to hear of it. */
export type ServerHappening =
  | { readonly kind: 'up' | 'cleared' }
  | { readonly kind: 'beat'; readonly beat: number; readonly tasks: number; readonly renewed: number }
  | { readonly kind: 'taken' | 'held' | 'lost'; readonly file: string }
  | { readonly kind: 'done'; readonly file: string; readonly size: number; readonly sha256: string }
  | { readonly kind: 'failed'; readonly file: string; readonly why: string }
  | { readonly kind: 'draining'; readonly tasks: number }
  | { readonly kind: 'uncleared'; readonly why: string };

export type Happening =
  | (ServerHappening & { readonly server: string })
  | { readonly kind: 'warning' | 'log' | 'note' | 'result'; readonly text: string };

type Listener = (happening: Happening) => void;

/** Carries what happens from the servers to the view. */
export class Feed {
  readonly #listeners: Listener[] = [];

  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  tell(happening: Happening): void {
    for (const listener of this.#listeners) listener(happening);
  }
}
