import { createHmac } from "node:crypto";

/** The proxy's own secret in the tests. */
export const SECRET = "a-secret-of-the-proxy-for-its-tests-0123456789";

/** The id as it leaves the proxy, worked out apart from it: what is handed out today has to be known tomorrow. */
export function signed(
  id: string,
  kind: "task" | "asset" | "epsilon" = "task",
  userId = "user-1",
  secret = SECRET,
): string {
  const mark = createHmac("sha256", secret).update(`${kind}:${id}:${userId}`).digest("base64url");
  return `${id}_${mark.slice(0, 22)}`;
}
