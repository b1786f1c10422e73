import { env } from "cloudflare:workers";

/**
 * True in workerd: there rows that are read and written are counted, an object can be lost while its process goes on, and
 * there may be rows of versions that knew no other host.
 */
export const isWorkerd = !("IS_NODE" in env);
