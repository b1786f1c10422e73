/** The bindings of tests on Node, which `cloudflare-on-node.ts` fills: its classes read them, too. */
export const env: Record<string, unknown> = { BRISK_MS: 2000, IS_NODE: true };
