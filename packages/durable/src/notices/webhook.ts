import type { Keys, ProxyPlugin } from "@sluice/worker-proxy";
import { ensure, limited, readOption } from "@sluice/worker-proxy/internal";
import { type Ended, type FollowUp, NoticeError } from "./after-end.js";

/** Options of {@link webhook}. */
export interface WebhookOptions<Env = unknown> {
  /** The app's address: https, or http on this machine. Redirects are not followed. */
  readonly url: (env: Env) => string | undefined;
  /**
   * The secret that signs: `whsec_` and 24 to 64 random bytes in Base64. Two while it is changed: both sign, so that the
   * app may know either.
   */
  readonly secret: (env: Env) => Keys;
  /** Another way to the app: a service binding, a test. It must not follow redirects. @default the global `fetch` */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}

/** A webhook: a follow-up of `afterEnd`, and an extension of the proxy. */
export interface Webhook<Env = unknown> extends FollowUp<Env, Ended>, ProxyPlugin<Env> {}

/** Time for the app to answer, in milliseconds. */
const ANSWER_MS = 15_000;

/**
 * Tells the app of the end of a task by the Standard Webhooks scheme: a `POST` with `webhook-id`, `webhook-timestamp` and
 * `webhook-signature`, and the JSON `{ type, timestamp, data }`. `type` is `video.` with the `state` of the
 * `EndedTask`: `video.succeeded`; an `EndedJob` has an `event` of its own. Each end has one `webhook-id`, also for tries after a failure: an app that has seen it
 * ignores it.
 * An answer of 2xx ends the tries. 410 ends them, too: the webhook becomes a dead letter at once.
 *
 * It tells the app of work that is paid for, so it comes also for a task that its user has removed: `data.removed` is true
 * then.
 *
 * Among the `extensions` of the proxy, too, its address and its secret are checked by `GET /health`. It sends nothing for it.
 *
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: (env) => env.WEBHOOK_URL, secret: (env) => env.WEBHOOK_SECRET });
 * export const VideoWatch = videoWatch<Env>({ ...gateway, onEnd: afterEnd([hook]) });
 * export default createProxy<Env>({ ...options, plugins: [events, hook] });
 * ```
 */
export function webhook<Env = unknown>(options: WebhookOptions<Env>): Webhook<Env> {
  const { url, secret, fetch: send = (request) => fetch(request) } = options;
  const addressIn = (env: Env) => readOption("webhook: url", url, env, checkedAddress);
  const secretsIn = (env: Env) => readOption("webhook: secret", secret, env, checkedSecrets);
  return { name: "webhook", kind: "webhook", run, routes: [], checks: [addressIn, secretsIn] };

  async function run(ended: Ended, env: Env) {
    const [address, secrets] = await setupOf(env);
    const body = JSON.stringify(bodyOf(ended));
    const id = `msg_${ended.id}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signatures = secrets.map((key) => signatureOf(key, `${id}.${timestamp}.${body}`));
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": (await Promise.all(signatures)).join(" "),
    };
    const init = { method: "POST", headers, body, redirect: "manual" } as const;
    const post = (signal: AbortSignal) => send(new Request(address, { ...init, signal }), env);
    const answer = await limited(ANSWER_MS, post).catch(() => {
      throw new NoticeError("the app could not be reached");
    });
    await answer.body?.cancel();
    const { ok, status: upstreamStatus } = answer;
    if (ok) return { upstreamStatus };
    const failure = { upstreamStatus, isRefusal: upstreamStatus === 410 };
    throw new NoticeError(`the app answered with ${upstreamStatus}`, failure);
  }

  async function setupOf(env: Env) {
    try {
      return await Promise.all([addressIn(env), secretsIn(env)]);
    } catch {
      throw new NoticeError("its url or its secret is missing or wrong");
    }
  }
}

function bodyOf(ended: Ended) {
  const { userId, model, endedAt } = ended;
  const timestamp = new Date(endedAt).toISOString();
  if ("event" in ended) return { type: ended.event.type, timestamp, data: ended.event.data };
  const { taskId, state, task, isRemoved } = ended;
  const known = { ...(model !== undefined && { model }), ...(isRemoved && { removed: true }) };
  const data = { id: taskId, user: userId, ...known, state, task };
  return { type: `video.${state}`, timestamp, data };
}

function checkedAddress(given: unknown): string {
  const url = typeof given === "string" ? URL.parse(given) : null;
  ensure(url, "webhook: url: is no URL; give https://app.example.com/hook; is the variable set?");
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLocal);
  ensure(isSafe && !url.username && !url.password, "webhook: url: must be https, without a name or password");
  return url.href;
}

const SECRET = /^whsec_(?=.{32,88}$)[A-Za-z0-9+/]+={0,2}$/;

function checkedSecrets(given: unknown): readonly Uint8Array<ArrayBuffer>[] {
  const secrets = [given].flat();
  const areSecrets =
    secrets.length > 0 && secrets.every((text) => typeof text === "string" && SECRET.test(text));
  ensure(areSecrets, "webhook: secret: give whsec_ and 24 to 64 random bytes in Base64; is the secret set?");
  return secrets.map((text) =>
    Uint8Array.from(atob((text as string).slice("whsec_".length)), (letter) => letter.charCodeAt(0)),
  );
}

async function signatureOf(secret: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret, hash, false, ["sign"]);
  const mark = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(mark)))}`;
}
