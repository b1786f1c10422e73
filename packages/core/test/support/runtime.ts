/** True in workerd, whose globals cannot be taken away. */
export const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";
