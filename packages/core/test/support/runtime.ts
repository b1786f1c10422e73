const isNode = globalThis.navigator?.userAgent.startsWith("Node.js/");
/** True in workerd, whose globals cannot be taken away. */
export const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** Tags of a slow test that asks nothing of its platform: it runs in Node each time, elsewhere in the long run. */
export const slowTags: "long"[] = isNode ? [] : ["long"];
