import { ensure, readOption } from "@sluice/worker-proxy/plugin";
import { abandonAfter } from "../shared/time.js";
import { DeliveryError, type EndContext, type EndedTask, type EndHandler } from "../videos/ends.js";

/** Options of {@link webhook}. */
export interface WebhookOptions<Env = unknown> {
  /** The app's URL: https, or http on this machine. Redirects are not followed. */
  readonly url: string | ((env: Env) => string | undefined);
  /**
   * Signing secret: `whsec_` and 24 to 64 random bytes in Base64. During a rotation, return two secrets: both sign, so
   * that the app can verify either signature.
   */
  readonly secret: (env: Env) => string | undefined | readonly string[];
  /**
   * Sends the request in another way, such as through a service binding. It must not follow redirects. @default the
   * global `fetch`
   */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}

/** Timeout for the response of the app, in milliseconds. */
const RESPONSE_MS = 15_000;

/**
 * Sends the end of a task to the app as defined by Standard Webhooks: a `POST` with `webhook-id`, `webhook-timestamp`
 * and `webhook-signature`, and the JSON `{ type, timestamp, data }`. `type` is `video.` and the state of the
 * {@link EndedTask}, such as `video.succeeded`. All attempts for an end have the same `webhook-id`, so that the app can
 * ignore repeats.
 *
 * A 2xx response ends the attempts. A 410 response also ends them: the webhook becomes a dead letter immediately.
 *
 * The webhook also reports a task that its user has removed, because the task is paid for. `data.removed` is then true.
 * `GET /health` checks the URL and the secret, and sends nothing.
 *
 * @throws {TypeError} if an option is missing or invalid
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: "https://app.example.com/hooks/video", secret: (env) => env.WEBHOOK_SECRET });
 * createProxy<Env>({ ...options, plugins: [videoWatch<Env>({ onEnd: [hook] })] });
 * ```
 */
export function webhook<Env = unknown>(options: WebhookOptions<Env>): EndHandler<Env> {
  const { url, secret, fetch: send = (request: Request) => fetch(request) } = options;
  if (typeof url !== "function") checkAddress(url);
  ensure(typeof secret === "function", "webhook: secret: give a function, (env) => env.WEBHOOK_SECRET");
  ensure(typeof send === "function", "webhook: fetch: give a function, (request, env) => …");
  const readAddress = (env: Env) =>
    readOption("webhook: url", typeof url === "function" ? url : () => url, env, checkAddress);
  const readSecrets = (env: Env) => readOption("webhook: secret", secret, env, checkSecrets);
  return Object.assign(deliver, { job: "webhook", checks: [readAddress, readSecrets] } as const);

  async function deliver(ended: EndedTask, { env, signal }: EndContext<Env>) {
    const [address, secrets] = await readAddressAndSecrets(env);
    const body = JSON.stringify(createBody(ended));
    const id = `msg_${ended.id}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signatures = secrets.map((key) => sign(key, `${id}.${timestamp}.${body}`));
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": (await Promise.all(signatures)).join(" "),
    };
    const init = { method: "POST", headers, body, redirect: "manual" } as const;
    const post = (limited: AbortSignal) => send(new Request(address, { ...init, signal: limited }), env);
    const response = await abandonAfter(RESPONSE_MS, post, signal).catch((cause: unknown) => {
      throw new DeliveryError("the app could not be reached", { cause });
    });
    await response.body?.cancel();
    const { ok, status: upstreamStatus } = response;
    if (ok) return { upstreamStatus };
    throw new DeliveryError(`the app responded with ${upstreamStatus}`, { upstreamStatus });
  }

  async function readAddressAndSecrets(env: Env) {
    try {
      return await Promise.all([readAddress(env), readSecrets(env)]);
    } catch (cause) {
      throw new DeliveryError("the url or the secret of the webhook is missing or invalid", { cause });
    }
  }
}

function createBody({ taskId, userId, model, endedAt, state, task, isRemoved }: EndedTask) {
  const known = { ...(model !== undefined && { model }), ...(isRemoved && { removed: true }) };
  const data = { id: taskId, user: userId, ...known, state, task };
  return { type: `video.${state}`, timestamp: new Date(endedAt).toISOString(), data };
}

function checkAddress(given: unknown): string {
  const url = typeof given === "string" ? URL.parse(given) : null;
  ensure(url, "webhook: url: give a URL, https://app.example.com/hook; is the variable set?");
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLocal);
  ensure(isSafe && !url.username && !url.password, "webhook: url: must be https, without a name or password");
  return url.href;
}

const SECRET = /^whsec_(?=.{32,88}$)[A-Za-z0-9+/]+={0,2}$/;

function checkSecrets(given: unknown): readonly Uint8Array<ArrayBuffer>[] {
  const secrets = [given].flat();
  const areSecrets =
    secrets.length > 0 && secrets.every((text) => typeof text === "string" && SECRET.test(text));
  ensure(areSecrets, "webhook: secret: give whsec_ and 24 to 64 random bytes in Base64; is the secret set?");
  return secrets.map((text) =>
    Uint8Array.from(atob((text as string).slice("whsec_".length)), (character) => character.charCodeAt(0)),
  );
}

async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret, hash, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}
