/** True in workerd, whose globals cannot be removed. */
export const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";
