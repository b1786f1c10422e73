import { createClient } from "@sluice/core";

const PROXY = "https://gateway-proxy.example.workers.dev";
const none = { token: "", expiresAt: 0 };

/** `getToken` runs the widget and resolves with its token. */
export function createGuestClient(getToken: () => Promise<string>) {
  let session = Promise.resolve(none);
  const renew = async (held: typeof none) => {
    if (held.expiresAt > Date.now() + 60_000) return held;
    const response = await fetch(`${PROXY}/session`, { method: "POST", body: await getToken() });
    if (!response.ok) throw new Error(`no session: ${response.status}`);
    return (await response.json()) as typeof none;
  };
  const headers = async () => {
    // requests at the same time share one session
    session = session.catch(() => none).then(renew);
    return { authorization: `Bearer ${(await session).token}` };
  };
  return createClient({ baseURL: PROXY, headers });
}
