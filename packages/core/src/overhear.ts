import type { Outcome } from "./errors.js";
import type { Client } from "./http.js";

/** The client for one request, whose outcome so far `learn` is told: an abort carries none. */
export function overhear(client: Client, learn: (outcome: Outcome) => void): Client {
  return {
    ...client,
    emit(event) {
      if (event.type === "request") learn("unknown");
      // what is sent again was refused
      if (event.type === "retry") learn("refused");
      client.emit(event);
    },
  };
}
