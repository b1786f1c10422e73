import type { Client } from "pg";
import { Listeners } from "./listeners.js";
import type { PostgresSettings } from "./postgres-connection.js";
import { createListener, ignore } from "./postgres-pool.js";

/** Pause before a new listening connection is opened, in milliseconds. It doubles with each failure, up to the maximum. */
const RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 5_000;
/** Pause between checks of the listening connection, in milliseconds: a network may drop it silently. */
const CHECK_MS = 15_000;
/** Maximum number of changed keys that wait to be sent. Readers find other changes by polling. */
const MAX_CHANGED = 10_000;

/** Notifies all processes of changed keys. */
export class PostgresBus {
  readonly listeners: Listeners;
  readonly #settings: PostgresSettings;
  readonly #channel: string;
  readonly #report: (subject: string, error: unknown) => void;
  /** Marks the notifications of this process, whose listeners were called directly. */
  readonly #id = crypto.randomUUID();
  #client: Client | undefined;
  #isClosed = false;
  #changed = new Set<string>();
  #isTelling = false;
  #wake: () => void = ignore;
  readonly #listening: Promise<void>;

  constructor(settings: PostgresSettings, report: (subject: string, error: unknown) => void) {
    this.#settings = settings;
    this.#channel = `sluice ${settings.schema}`;
    this.#report = report;
    this.listeners = new Listeners((error) => report("a listener", error));
    this.#listening = this.#listen();
  }

  /**
   * Announces a committed change to all processes. The notification is a separate statement that does not wait for the
   * disk, because Postgres commits a transaction with a notification under a lock of the whole database.
   */
  notify(key: string): void {
    this.listeners.notify(key);
    if (this.#changed.size < MAX_CHANGED) this.#changed.add(key);
    if (!this.#isTelling) void this.#tell();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await this.#listening;
  }

  async #tell(): Promise<void> {
    this.#isTelling = true;
    while (this.#changed.size > 0 && this.#client) {
      const payloads = [...this.#changed].map((key) => `${this.#id} ${key}`);
      this.#changed.clear();
      await this.#client
        .query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload", [this.#channel, payloads])
        .catch(ignore);
    }
    this.#changed.clear();
    this.#isTelling = false;
  }

  async #listen(): Promise<void> {
    let failures = 0;
    while (!this.#isClosed) {
      const client = createListener(this.#settings);
      const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
      client.on("notification", ({ payload = "" }) => {
        if (!payload.startsWith(this.#id)) this.listeners.notify(payload.slice(payload.indexOf(" ") + 1));
      });
      try {
        await client.connect();
        await client.query(`LISTEN "${this.#channel}"`);
        this.#client = client;
        failures = 0;
        // without a connection this process missed changes
        this.listeners.notifyAll();
        await this.#check(client, ended);
      } catch (error) {
        // the next iteration reconnects; an outage is reported once
        failures += 1;
        if (failures === 1) this.#report("notifications of Postgres; readers see changes later", error);
      }
      this.#client = undefined;
      await client.end().catch(ignore);
      if (!this.#isClosed) await this.#pause(Math.min(RECONNECT_MS * 2 ** failures, MAX_RECONNECT_MS));
    }
  }

  /** Checks the connection until it ends or the bus is closed. */
  async #check(client: Client, ended: Promise<void>): Promise<void> {
    let hasEnded = false;
    void ended.then(() => {
      hasEnded = true;
      this.#wake();
    });
    while (!hasEnded && !this.#isClosed) {
      await this.#pause(CHECK_MS);
      if (!hasEnded && !this.#isClosed) await client.query("SELECT 1");
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
