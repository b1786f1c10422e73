import { createStorageError } from "./storage-error.js";

/** Maximum number of waiting operations of one key in this process. */
const MAX_WAITING = 1_000;
/** Maximum number of waiting operations of all keys in this process, because they use memory. */
const MAX_WAITING_TOTAL = 20_000;

/** The last task of a queue, and the number of tasks in the queue. */
interface Queue {
  last: Promise<void>;
  length: number;
}

/** Runs the tasks of each key in order, one at a time. */
export class Queues {
  readonly #queues = new Map<string, Queue>();
  readonly #waiting = new Map<string, number>();
  readonly #isOne: boolean;
  #total = 0;

  /** @param isOne true if all keys share one queue */
  constructor(isOne = false) {
    this.#isOne = isOne;
  }

  /**
   * Runs a task after all earlier tasks of its queue have ended.
   *
   * @throws {Refusal} 503 if too many tasks wait
   */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const name = this.#isOne ? "" : key;
    const queue = this.#queues.get(name) ?? { last: Promise.resolve(), length: 0 };
    this.#enter(key);
    this.#queues.set(name, queue);
    queue.length += 1;
    const result = queue.last.then(work);
    queue.last = result.then(
      () => {},
      () => {},
    );
    try {
      return await result;
    } finally {
      this.#leave(key);
      queue.length -= 1;
      if (queue.length === 0) this.#queues.delete(name);
    }
  }

  #enter(key: string): void {
    const waiting = this.#waiting.get(key) ?? 0;
    if (waiting >= MAX_WAITING) throw createStorageError(`${MAX_WAITING} operations of one key wait`);
    if (this.#total >= MAX_WAITING_TOTAL) throw createStorageError(`${MAX_WAITING_TOTAL} operations wait`);
    this.#waiting.set(key, waiting + 1);
    this.#total += 1;
  }

  #leave(key: string): void {
    const waiting = (this.#waiting.get(key) ?? 1) - 1;
    if (waiting === 0) this.#waiting.delete(key);
    else this.#waiting.set(key, waiting);
    this.#total -= 1;
  }
}
