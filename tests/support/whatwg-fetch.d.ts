/* The package ships no types. */
declare module "whatwg-fetch" {
  export function fetch(url: string, init: RequestInit): Promise<Response>;
}
