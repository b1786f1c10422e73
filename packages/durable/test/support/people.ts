import { openUser, unseen } from "./conversations.js";

/** The requests of a user about shared conversations. The name that others see is `Name of` and the user. */
export function openPerson(user: string, more: Parameters<typeof openUser>[1] = {}) {
  const authenticate = ({ headers }: Request) => {
    const id = headers.get("authorization");
    return id ? { id, name: `Name of ${id}` } : null;
  };
  const own = openUser(user, { authenticate, ...more });
  const at = (id: string, rest: string) => `/v1/conversations/${encodeURIComponent(id)}${rest}`;
  const send = (method: string, path: string, body?: object) => own.ask(path, { method, body });
  return {
    ...own,
    invite: async (id: string, access: "read" | "write" = "write", more: object = {}) =>
      (await send("POST", at(id, "/links"), { access, ...more })).json,
    askForLink: (id: string, body: object) => send("POST", at(id, "/links"), body),
    takeBack: (id: string, link: string) => send("DELETE", at(id, "/links"), { id: link }),
    join: (token: string) => send("POST", "/v1/conversations/~index/join", { token }),
    members: async (id: string) => (await send("GET", at(id, "/members"))).json,
    removeMember: (id: string, member: string) => send("DELETE", at(id, "/members"), { id: member }),
    /** The record of the list. */
    listed: async (id: string) => (await own.read("~index")).json.records[id]?.value,
  };
}

export type Person = ReturnType<typeof openPerson>;

/** Shares a conversation of one user with another one, who gets its id. */
export async function share(owner: Person, other: Person, access: "read" | "write" = "write", id = "c-1") {
  await owner.write("~index", unseen({ [id]: { title: "Otters", createdAt: 1, updatedAt: 1, revision: 1 } }));
  const link = await owner.invite(id, access);
  const { json } = await other.join(link.token);
  return { id: json.id as string, link };
}
