/** Host names of the local machine and of local networks. */
const LOCAL_NAME = /^localhost$|\.(?:localhost|local|internal|lan|home\.arpa)$/;
const PRIVATE_IPV4 =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;
/** Loopback, unspecified, IPv4-mapped IPv6, unique local and link-local addresses, as `URL` writes them. */
const PRIVATE_IPV6 = /^\[(?:::|f[cd]|fe[89ab])/;

/** Returns true for an http(s) URL outside the local machine and private networks. */
export function isPublicHTTP(url: string): boolean {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return false;
  const host = new URL(url).hostname.replace(/\.$/, "");
  return !LOCAL_NAME.test(host) && !PRIVATE_IPV4.test(host) && !PRIVATE_IPV6.test(host);
}
