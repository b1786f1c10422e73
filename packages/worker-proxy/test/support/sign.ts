import { createHmac } from "node:crypto";

/** The proxy's own secret in the tests. */
export const SECRET = "a-secret-of-the-proxy-for-its-tests-0123456789";

/**
 * Computes the signed id of a user without the proxy's code. A change of the format would invalidate the ids that users
 * already have, so it fails a test.
 */
export function signId(
  id: string,
  kind: "task" | "asset" | "epsilon" = "task",
  userId = "user-1",
  secret = SECRET,
): string {
  const mark = createHmac("sha256", secret).update(`${kind}:${id}:${userId}`).digest("base64url");
  return `${id}_${mark.slice(0, 22)}`;
}
