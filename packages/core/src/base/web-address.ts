const HTTP = /^https?:\/\//i;
const IMAGE_DATA_URI = /^data:image\/([\w.+-]+);base64,[\w+/]+={0,2}$/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ASSET = /^asset:\/\/\S+$/;

/** Host names of the local machine and of local networks. */
const LOCAL_NAME = /^localhost$|\.(?:localhost|local|internal|lan|home\.arpa)$/;
const PRIVATE_IPV4 =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;
/** Loopback, unspecified, IPv4-mapped IPv6, unique local and link-local addresses, as `URL` writes them. */
const PRIVATE_IPV6 = /^\[(?:::|f[cd]|fe[89ab])/;

/** Returns true if `url` is an http(s) URL. */
export function isHTTP(url: string): boolean {
  return HTTP.test(url) && URL.canParse(url);
}

/** Returns true if `url` is an http(s) URL outside the local machine and private networks. */
export function isPublicHTTP(url: string): boolean {
  if (!isHTTP(url)) return false;
  const host = new URL(url).hostname.replace(/\.$/, "");
  return !LOCAL_NAME.test(host) && !PRIVATE_IPV4.test(host) && !PRIVATE_IPV6.test(host);
}

/** Returns true if `url` is a Base64 data URI of an image. `formats` (`jpeg`, `png`, …) restricts the image formats. */
export function isImageDataURI(url: string, formats?: readonly string[]): boolean {
  const format = IMAGE_DATA_URI.exec(url)?.[1]?.toLowerCase();
  return format !== undefined && (!formats || formats.includes(format === "jpg" ? "jpeg" : format));
}

/** Returns true if `url` is the URI of an asset: `asset://<id>`. */
export function isAssetURI(url: string): boolean {
  return ASSET.test(url);
}

/** Returns true if `text` is Base64 with padding. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text);
}
