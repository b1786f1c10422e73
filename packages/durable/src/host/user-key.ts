import { hashText } from "@sluice/worker-proxy/plugin";

/** Returns the key of a user's rows. It is a digest, because logs and dashboards show the keys of Durable Objects. */
export async function createUserKey(userId: string): Promise<string> {
  return `user:${await hashText(userId)}`;
}
