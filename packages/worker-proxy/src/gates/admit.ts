import type { Admitted } from "../admitted.js";
import type { Limits } from "../options.js";
import type { AddressRules } from "./addresses.js";
import { readBody } from "./body.js";
import { adaptFields, checkTokens } from "./chat-fields.js";
import { type FieldsOf, hasOwnFields, tableWith } from "./field-table.js";
import { type Address, holdCaps, siftBody } from "./fields.js";
import type { Tenancy } from "./ids.js";
import { adaptSchema } from "./json-schema.js";
import { admitModels, checkGroups, type ListedModels } from "./model.js";
import type { Match } from "./path.js";

/** The rules of the operator for what a request may say. */
export interface BodyRules {
  readonly limits: Required<Pick<Limits, "bodyBytes" | "bodyMs" | "dataURIBytes">> &
    Pick<Limits, "maxTokens">;
  readonly models: ListedModels;
  /** The fields that a model takes at a route. */
  readonly fieldsOf: FieldsOf;
  readonly media: AddressRules["media"];
  readonly tenancy: Tenancy | undefined;
  /** True where the gateway is asked for the usage of this model's streams. */
  readonly asksUsage: (model: string) => boolean;
  /** True where a JSON Schema that an answer is to fit becomes an instruction. */
  readonly adaptsSchemas: boolean;
}

/**
 * Reads a request and leads it through the gates of its body, in this order: bytes, id, model, fields, caps, addresses. The
 * body becomes the one that is sent.
 *
 * @throws {Refusal} 403 for a model that is not listed, 400 for a field that is not listed or is beyond a
 *   limit, 404 for a task or an asset that is not this user's, and those of `readBody`
 */
export async function admit<Env>(
  { route, sentId: idInPath }: Match,
  asked: Omit<Admitted<Env>, "id" | "sentId" | "model" | "body">,
  rules: BodyRules,
): Promise<Admitted<Env>> {
  const body = await readBody(asked.request, rules.limits, route.extension?.takesBody);
  if (route.extension && !route.ids) {
    const id = idInPath !== undefined && { id: idInPath, sentId: idInPath };
    return { ...asked, ...id, ...(body && { body }) };
  }
  if (idInPath !== undefined || route.isLookup) {
    if (body) siftBody(body, lookupTable);
    const { admitId } = await import("./ids.js");
    return await admitId(route, idInPath, body, rules.tenancy, asked);
  }
  if (!body) return asked;

  const { models, fieldsOf, tenancy } = rules;
  const names = admitModels(body, route.name, models, fieldsOf);
  const [model] = names;
  if (route.name === "chat") adaptFields(body, model);
  const table = fieldsOf(route.name, model);
  if (route.name === "chat" && rules.adaptsSchemas) adaptSchema(body, table);
  const { dropped, addresses } = siftBody(body, table);
  if (route.name === "assets") checkGroups(model, models);
  checkTokens(body);
  const forAll = route.name === "chat" && rules.limits.maxTokens && { max_tokens: rules.limits.maxTokens };
  for (const name of names) holdCaps(body, table, { ...forAll, ...models.get(name) }, name);
  await admitAddresses(addresses, rules);
  if (tenancy && hasOwnFields(model)) body["user_id"] = await tenancy.pseudonym();
  // without it the answer has no usage to settle by
  if (body["stream"] === true && rules.asksUsage(model)) body["stream_options"] = { include_usage: true };
  const texts = addresses.map(({ owner, name }) => owner[name] as string);
  return { ...asked, model, body, dropped, addresses: texts };
}

const lookupTable = tableWith("Id");

/** Few requests have addresses, and few proxies load their gate. */
async function admitAddresses(
  addresses: readonly Address[],
  { media, limits, tenancy }: BodyRules,
): Promise<void> {
  if (addresses.length === 0) return;
  const { checkAddress } = await import("./addresses.js");
  const rules = { media, dataURIBytes: limits.dataURIBytes, tenancy };
  for (const address of addresses) await checkAddress(address, rules);
}
