/*
 * What a behaviour gets, and what all behaviours use.
 */

/**
 * @typedef {object} Setup
 * @property {typeof import("@sluice/core")} core the package as this platform imports it
 * @property {typeof import("@sluice/stores")} stores the same of the stores
 * @property {typeof import("@sluice/media")} media its part for files
 * @property {typeof import("@sluice/media/mediabunny").mediabunny} mediabunny measures videos
 * @property {string} baseURL address of the gateway, or of the proxy in front of it
 * @property {string} gatewayURL address of the gateway's journal
 */

/**
 * A client that waits for nothing between attempts.
 *
 * @param {Setup} setup
 * @param {Partial<import("@sluice/core").ClientOptions>} [options]
 */
export function createTestClient({ core, baseURL }, options = {}) {
  return core.createClient({
    baseURL,
    random: () => 0,
    gateway: { includeUsage: true },
    onEvent: () => {},
    ...options,
  });
}

/** A text that no other request has. */
export function mark() {
  return `m${Math.random().toString(36).slice(2)}`;
}

/** @param {string} content */
export function createChatRequest(content) {
  return { model: "delta-5.3", messages: [{ role: "user", content }] };
}

/**
 * Fails unless both are the same JSON.
 *
 * @param {unknown} actual
 * @param {unknown} expected
 */
export function equal(actual, expected) {
  const [is, shouldBe] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== shouldBe) throw new Error(`is ${is}, should be ${shouldBe}`);
}

/**
 * What a promise rejects with.
 *
 * @param {Promise<unknown>} promise
 */
export async function readFailure(promise) {
  const ended = await promise.then(
    () => undefined,
    (error) => error ?? new Error("rejected with nothing"),
  );
  if (ended === undefined) throw new Error("succeeded, should fail");
  return ended;
}

/**
 * Calls `check` until it returns true: at most 500 times.
 *
 * @param {string} what is named if it never is
 * @param {() => Promise<boolean>} check
 */
export async function until(what, check) {
  for (let times = 0; times < 500; times++) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`never came true: ${what}`);
}

/**
 * The gateway's records of requests with this mark.
 *
 * @param {Setup} setup
 * @param {string} marked
 */
export async function readJournal({ gatewayURL }, marked) {
  const response = await fetch(`${gatewayURL}/journal`);
  const { requests } = await response.json();
  return requests.filter((request) => JSON.stringify(request.body ?? "").includes(marked));
}
