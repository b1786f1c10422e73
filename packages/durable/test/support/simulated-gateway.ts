import type { Random } from "../../../worker-proxy/test/support/random.js";
import { DAY, MINUTE, refusal, task } from "./watched.js";

/* A faulty gateway that records its statements about a task. A watch may report nothing else. */

type Respond = () => Response | Promise<Response>;

const page = (status = 200) =>
  new Response("<!doctype html>", { status, headers: { "content-type": "text/html" } });

/** Responses that say nothing about a task. */
const faults: readonly Respond[] = [
  ...[400, 401, 402, 403, 410, 500].map((status) => () => refusal(status)),
  () => refusal(503, { "retry-after": "864000" }),
  () => refusal(429, { "retry-after": new Date(Date.now() + 40 * DAY).toUTCString() }),
  ...[200, 404, 410, 502].map((status) => () => page(status)),
  () => new Response("404 page not found", { status: 404 }),
  () => Response.json({ code: "db_error" }),
  () => Response.json([1]),
  () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } }),
  () => Promise.reject(new TypeError("connection lost")),
];
/** States that the spec does not name final. */
const pendingStates = ["NOT_START", "SUBMITTED", "QUEUED", "IN_PROGRESS", "UNKNOWN", "paused", ""];
/** Polls within five minutes that make a task unknown. */
const ABSENT = { times: 5, ms: 5 * MINUTE };

/** Simulates the gateway for one task of a user. */
export function simulateGateway(random: Random) {
  const gateway = {
    startedAt: Date.now(),
    isOver: false,
    /** True once the gateway has no more faults. */
    isHealthy: false,
    last: random.rarely(0.2) ? "FAILURE" : "SUCCESS",
    /** Times at which it was polled. */
    polls: [] as number[],
    /** True once the task was unknown for long enough to be reported as absent. */
    mayBeAbsent: false,
    respond,
    /** Called after the watch has stored the last response. */
    noteStored: () => {
      before = absent;
    },
    /** Called when the last response may be lost with its process or database. */
    noteLost: () => {
      absent = before;
    },
  };
  let fileless = random.below(3);
  let absent = { times: 0, since: 0 };
  let before = absent;
  return gateway;

  function respond(): Response | Promise<Response> {
    gateway.polls.push(Date.now());
    if (!gateway.isHealthy && random.rarely(0.4)) return denyTask();
    if (!gateway.isHealthy && random.rarely(0.5)) return random.one(faults)();
    absent = { times: 0, since: 0 };
    return gateway.isOver ? endTask() : task(random.one(pendingStates));
  }

  function denyTask(): Response {
    absent = { times: absent.times + 1, since: absent.times === 0 ? Date.now() : absent.since };
    if (absent.times >= ABSENT.times && Date.now() - absent.since >= ABSENT.ms) gateway.mayBeAbsent = true;
    return refusal(404);
  }

  function endTask(): Response {
    if (gateway.last !== "SUCCESS") return task(gateway.last);
    fileless -= 1;
    return fileless >= 0 ? task("SUCCESS") : task("SUCCESS", { result_url: "https://cdn.example/v.mp4" });
  }
}

export type SimulatedGateway = ReturnType<typeof simulateGateway>;
