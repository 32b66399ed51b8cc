// What was read of a log that goes on, newest lines first. Pure: no network, no clock.

/** `read(wanted, after)` gives `{items, next}`; `changed()` is called when `lines`, `next` or `isBusy` may be others. */
export class Log {
  #read;
  #changed;
  #wanted = {};
  #turn = 0;
  #isFurther = false;

  constructor(read, changed) {
    this.#read = read;
    this.#changed = changed;
    this.lines = [];
    this.next = undefined;
    this.isBusy = false;
  }

  /** Reads only what is `wanted` from now on; what belonged to the question before is not continued. */
  async filter(wanted) {
    this.#wanted = wanted;
    this.#isFurther = false;
    this.next = undefined;
    try {
      await this.#asked(undefined);
    } catch (error) {
      // Lines of another question would stand there as the answer to this one.
      if (JSON.stringify(wanted) === JSON.stringify(this.#wanted)) this.lines = [];
      this.#changed();
      throw error;
    }
  }

  /** Reads on, further back. */
  async more() {
    if (this.isBusy || !this.next) return;
    await this.#asked(this.next);
  }

  /** Reads the newest lines again; whoever has gone further back, or waits for what they asked for, is left in peace. */
  async refresh() {
    if (this.#isFurther || this.isBusy) return;
    const turn = ++this.#turn;
    const page = await this.#read(this.#wanted, undefined);
    if (turn === this.#turn) this.#take(page);
  }

  async #asked(after) {
    const turn = ++this.#turn;
    this.isBusy = true;
    this.#changed();
    try {
      const page = await this.#read(this.#wanted, after);
      if (turn === this.#turn) this.#take(page, after);
    } finally {
      if (turn === this.#turn) {
        this.isBusy = false;
        this.#changed();
      }
    }
  }

  #take({ items, next }, after) {
    this.#isFurther = Boolean(after);
    this.lines = after ? [...this.lines, ...items] : items;
    this.next = next;
    this.#changed();
  }
}
