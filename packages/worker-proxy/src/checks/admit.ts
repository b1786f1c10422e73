import type { Limits, Timeout } from "../api/options.js";
import type { AdmittedRequest, ProxyPlugin } from "../api/plugin.js";
import { adaptFields, checkTokens } from "./chat-fields.js";
import { addFields, type FieldsOf, hasField, hasOwnFields, openField } from "./field-table.js";
import { holdCaps, siftBody } from "./fields.js";
import { ownId, type Tenancy } from "./ids.js";
import { type AddressRules, checkAddress } from "./media.js";
import { admitModels, checkGroups, type ListedModels } from "./models.js";
import type { Match } from "./path.js";
import { readBody } from "./size.js";

/** The rules of the operator for what a request may say. */
export interface BodyRules {
  readonly limits: Required<Pick<Limits, "maxBodyBytes" | "maxDataURIBytes">> & Pick<Limits, "maxTokens">;
  readonly timeout: Required<Pick<Timeout, "bodyMs">>;
  readonly models: ListedModels;
  /** The fields that a model takes at a route. */
  readonly fieldsOf: FieldsOf;
  readonly mediaURLs: AddressRules["mediaURLs"];
  readonly tenancy: Tenancy | undefined;
  /** True where the gateway is asked for the usage of this model's streams. */
  readonly asksUsage: (model: string) => boolean;
  readonly plugins: readonly Pick<ProxyPlugin<never>, "adapt">[];
}

/**
 * Reads a request and checks its body, in this order: size, id, model, fields, caps, addresses. The body becomes the one that
 * is sent.
 *
 * @throws {Refusal} 403 for a model that is not listed, 400 for a field that is not listed or is beyond a
 *   limit, 404 for a task or an asset that is not this user's, and those of `readBody`
 */
export async function admit<Env>(
  { route, sentId }: Match,
  asked: Omit<AdmittedRequest<Env>, "id" | "sentId" | "model" | "body">,
  rules: BodyRules,
): Promise<AdmittedRequest<Env>> {
  const { models, fieldsOf, tenancy, limits, mediaURLs, plugins } = rules;
  const bounds = { maxBytes: limits.maxBodyBytes, ms: rules.timeout.bodyMs };
  const body = await readBody(asked.request, bounds, route.plugin?.takesBody);
  if (route.plugin && !route.ids) {
    const id = sentId !== undefined && { id: sentId, sentId };
    return { ...asked, ...id, ...(body && { body }) };
  }
  if (sentId !== undefined || route.isLookup) {
    if (body) siftBody(body, addFields(openField(""), "Id+"));
    // what is no text in a lookup is no id
    const sent = sentId ?? (typeof body?.["Id"] === "string" ? body["Id"] : "");
    const id = route.ids ? await ownId(tenancy, route.ids, sent) : sent;
    return { ...asked, id, sentId: sent, ...(body && { body: { Id: id } }) };
  }
  if (!body) return asked;

  const names = admitModels(body, route.name, models, fieldsOf);
  const [model] = names;
  const table = fieldsOf(route.name, model);
  const isChat = route.name === "chat";
  if (isChat) adaptFields(body, model);
  if (isChat) for (const { adapt } of plugins) adapt?.(body, (path) => hasField(table, path));
  const { dropped, addresses } = siftBody(body, table);
  if (route.name === "assets") checkGroups(model, models);
  checkTokens(body);
  const forAll = isChat && limits.maxTokens && { max_tokens: limits.maxTokens };
  for (const name of names) holdCaps(body, table, { ...forAll, ...models.get(name) }, name);
  for (const address of addresses)
    await checkAddress(address, { mediaURLs, maxBytes: limits.maxDataURIBytes, tenancy });
  if (tenancy && hasOwnFields(model)) body["user_id"] = await tenancy.pseudonym();
  // without it the answer has no usage to settle by
  if (body["stream"] === true && rules.asksUsage(model)) body["stream_options"] = { include_usage: true };
  const texts = addresses.map(({ owner, name }) => owner[name] as string);
  return { ...asked, model, body, dropped, addresses: texts };
}
