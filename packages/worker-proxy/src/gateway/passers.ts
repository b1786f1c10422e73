import type { Exchange } from "./exchange.js";

/** Passes the response of a plugin on unread. */
export type PassResponse = (
  exchange: Exchange<never>,
  response: Response,
  headers: Record<string, string>,
) => Promise<Response>;

const passers = new WeakMap<Response, PassResponse>();

/** Marks a response. Only code that imports this can: the responses of all others are checked as the gateway's. */
export function setPasser(response: Response, pass: PassResponse): Response {
  passers.set(response, pass);
  return response;
}

/** Returns the function that passes a response on; undefined without a mark. */
export function findPasser(response: Response): PassResponse | undefined {
  return passers.get(response);
}
