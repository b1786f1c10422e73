import type { Caps, Gateway, Limits, Timeout } from "../api/options.js";
import type { AdmittedRequest, ProxyPlugin } from "../api/plugin.js";
import type { Body, CheckRules } from "../api/routes.js";
import { signUser } from "../base/sign.js";
import { Refusal } from "../refusals/refusal.js";
import { readBody } from "./body.js";
import { checkFields, findRules, hasField } from "./fields.js";
import { belongsTo } from "./models.js";
import type { Match } from "./path.js";

/** The settings for the check of a body. */
interface BodySettings extends Pick<CheckRules, "mediaURLs"> {
  readonly limits: Required<Limits>;
  readonly timeout: Required<Timeout>;
  readonly gateway?: Gateway;
  readonly run: BodyPlugins | undefined;
}

/** The plugins that act on a body. */
interface BodyPlugins {
  readonly adapt: NonNullable<ProxyPlugin["adapt"]>;
  readonly meter: object | undefined;
}

/** The values for one request's environment and user. */
interface UserRules extends Pick<CheckRules, "models" | "tenancy"> {
  readonly secrets: readonly string[];
  /** Counts bytes of the body, see `limits.maxOpenBodyBytes`. */
  readonly count: (bytes: number) => void;
}

type Incoming<Env> = Omit<AdmittedRequest<Env>, "id" | "signedId" | "model" | "body">;

/**
 * Reads a request and checks its body, in this order: size, id, model, fields, caps, addresses. The changed body
 * is sent.
 *
 * @throws {Refusal} 403 for a model that is not listed, 400 for a field that is not listed or is beyond a
 *   limit, 404 for a task or an asset of another user, and the errors of `readBody`
 */
export async function admit<Env>(
  { route, signedId }: Match,
  incoming: Incoming<Env>,
  settings: BodySettings,
  { models, tenancy, secrets, count }: UserRules,
): Promise<AdmittedRequest<Env>> {
  const { group, plugin, ids } = route;
  const { limits, timeout, mediaURLs, gateway, run } = settings;
  const body = await readBody(incoming.request, { maxBytes: limits.maxBodyBytes, ms: timeout.bodyMs, count });
  if (!group || (plugin && !ids))
    return { ...incoming, ...(signedId !== undefined && { id: signedId, signedId }), ...(body && { body }) };
  if (ids && group.ids && (signedId !== undefined || route.isLookup)) {
    const named = await group.ids.verify(tenancy, ids, signedId ?? body ?? "");
    return { ...incoming, ...named, ...(body && { body: { Id: named.id } }) };
  }
  if (!body) return incoming;
  const isChat = group.name === "chat";
  const rules = { models, mediaURLs, limits, tenancy };
  // a name that is not a string is not listed
  const names = group.readModels?.(body) ?? ([body["model"]] as [string]);
  if (!names.every((name) => models.has(name) && belongsTo(name, group.name))) {
    // a body without a model may spell the field in another way, which the refusal names
    if (body["model"] === undefined) checkFields(body, findRules(group.rules, "").fields);
    throw new Refusal("model_not_allowed", { param: "model" });
  }
  const [model] = names;
  const modelRules = findRules(group.rules, model);
  if (isChat) dropUserId(body, modelRules.hasUserId);
  const dropped = run?.adapt(body, (path) => hasField(modelRules, path), group.name, model) ?? [];
  const addresses = checkFields(body, modelRules.fields);
  group.checkBody?.(body, rules, model);
  const usual = isChat && { max_tokens: limits.maxTokens };
  for (const name of names) {
    const caps: Caps = { ...usual, ...models.get(name) };
    capTokens(body, caps["max_tokens"], modelRules.maxTokens);
    group.applyCaps?.(body, modelRules.fields, caps);
  }
  const sentAddresses: string[] = [];
  for (const address of addresses) {
    if (!group.checkAddress) throw new Refusal("media_not_allowed", { param: address.path, what: NO_MEDIA });
    const isAddress = await group.checkAddress(address, rules);
    if (isAddress) sentAddresses.push(address.owner[address.name] as string);
  }
  if (modelRules.hasUserId && secrets.length > 0) body["user_id"] = await signUser(secrets, incoming.user.id);
  // a response without usage can't be settled
  if (run?.meter && body["stream"] === true && (gateway?.includeUsage ?? modelRules.hasUserId))
    body["stream_options"] = { include_usage: true };
  return { ...incoming, model, body, dropped, addresses: sentAddresses };
}

/** The refusal of an address by routes without a rule for it. */
const NO_MEDIA = "must not be an address; the proxy's operator lists `chat` in `routes`";

/** The spec's pattern of a `user_id`. */
const USER_ID = /^[\w-]{1,512}$/;

/**
 * Deletes `user_id`, which the proxy alone sets: a user could send the id of another one.
 *
 * @throws {Refusal} 400 for a value that the gateway would refuse: its sender would never learn of the mistake
 */
function dropUserId(body: Body, hasUserId = false): void {
  const { user_id: id } = body;
  delete body["user_id"];
  if (hasUserId && id !== undefined && !(typeof id === "string" && USER_ID.test(id)))
    throw new Refusal("bad_field", { param: "user_id", what: "must be 1 to 512 letters, digits, - and _" });
}

/**
 * Checks `max_tokens` against its cap and the model's own, and sets it where a request has none. A meter can compute with
 * each number that passes.
 *
 * @throws {Refusal} 400 for a larger number, and for anything but a whole number from 1 up
 */
function capTokens(body: Body, cap: Caps[string] | undefined, maxTokens = Infinity): void {
  const max = cap !== Infinity && typeof cap === "number" ? Math.min(cap, maxTokens) : Infinity;
  const tokens = body["max_tokens"] ?? (max === Infinity ? undefined : max);
  if (tokens === undefined) return;
  const what = max === Infinity ? "a whole number from 1 up" : `a whole number from 1 to ${max}`;
  if (!Number.isSafeInteger(tokens) || (tokens as number) < 1 || (tokens as number) > max)
    throw new Refusal("limit_exceeded", { param: "max_tokens", what });
  body["max_tokens"] = tokens;
}
