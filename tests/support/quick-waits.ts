import { setTimeout } from "node:timers/promises";
import type { ClientOptions } from "@sluice/core";

/** Limits of the client, such as that of a silent stream, are longer than that. */
const LONGEST_WAIT_MS = 5000;
const SPEED = 50;

/**
 * A clock of a client that talks to real servers: its waits between two requests are short, and its limits are what they
 * are.
 */
export const quickWaits: NonNullable<ClientOptions["clock"]> = {
  now: () => performance.now(),
  async sleep(ms, signal) {
    await setTimeout(ms > LONGEST_WAIT_MS ? Math.min(ms, 2 ** 31 - 1) : ms / SPEED, undefined, {
      signal,
      ref: false,
    }).catch((error) => {
      throw signal?.reason ?? error;
    });
  },
};
