import { type Answer, json } from "./http.js";
import type { EmulatorRequest } from "./request-log.js";
import type { Redactor } from "./secrets.js";

const PATH = "/journal";

/** Answers `GET /journal`: the requests of other paths, oldest first, without secrets. */
export function journal(requests: readonly EmulatorRequest[], redactor: Redactor): Answer {
  return json({ requests: redactor.value(requests.filter(({ path }) => path !== PATH)) });
}
