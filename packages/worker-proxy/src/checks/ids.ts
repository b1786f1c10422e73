import type { User } from "../api/plugin.js";
import type { IdKind, IdRules, Tenancy } from "../api/routes.js";
import { createSigner, MARK_LENGTH } from "../base/sign.js";
import { refuseAs } from "../refusals/refusal.js";
import { mediaRefusals } from "../refusals/texts.js";
import { checkFields } from "./fields.js";

/** Creates the marks of a user's ids. An id with the mark of another user does not verify. */
function createTenancy(secrets: readonly string[], { id: userId }: User): Tenancy {
  const { sign, verify } = createSigner(secrets);
  // the user's id may hold anything, and comes last: nothing else can be read into it
  const describe = (kind: IdKind, id: string) => `${kind}:${id}:${userId}`;
  return {
    sign: async (kind, id) => `${id}_${await sign(describe(kind, id))}`,
    async verify(kind, signed) {
      const end = -MARK_LENGTH - 1;
      const id = signed.slice(0, end);
      const isOwn = signed.at(end) === "_" && (await verify(describe(kind, id), signed.slice(end + 1)));
      return isOwn ? id : undefined;
    },
  };
}

const ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Returns the gateway's own id for the id that a user sent.
 *
 * @throws {Refusal} 404 for an id that is invalid, or belongs to another user
 */
export async function verifyId(
  tenancy: Tenancy | undefined,
  kind: IdKind,
  signedId: string,
): Promise<string> {
  const id = tenancy ? await tenancy.verify(kind, signedId) : signedId;
  if (id !== undefined && ID.test(id)) return id;
  const name = kind === "asset" ? "asset_not_found" : "task_not_found";
  throw refuseAs(mediaRefusals[name], name);
}

/** The id in a receipt (spec, Video task and Asset): some gateways wrap it in `data`. */
function findId(json: unknown): string | undefined {
  const { id, task_id, Id, data } = { ...(json as Record<string, unknown>) };
  const given = [id, task_id, Id].find((value) => typeof value === "string" && value !== "");
  return (given as string | undefined) ?? (data === undefined ? undefined : findId(data));
}

/** The ids of tasks and assets. */
export const ids: IdRules = {
  createTenancy,
  async verify(tenancy, kind, sent) {
    // the id of a path is a string; the body of a lookup has the field `Id`, with any value, and no other field
    if (typeof sent !== "string") checkFields(sent, { Id: "free" });
    // an `Id` that is not a string matches no asset
    const named = typeof sent === "string" ? sent : sent["Id"];
    const signedId = typeof named === "string" ? named : "";
    return { id: await verifyId(tenancy, kind, signedId), signedId };
  },
  async mark(json, kind, admitted, tenancy) {
    const id = admitted.id ?? findId(json);
    if (id === undefined) return undefined;
    // a poll's response has the id that the user sent; a receipt has a new signed id, which the user will send
    return { id, signedId: admitted.signedId ?? (await tenancy?.sign(kind, id)) ?? id };
  },
};
