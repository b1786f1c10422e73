/* The package has no types of its own. */
declare module "whatwg-fetch" {
  export function fetch(url: string, init: RequestInit): Promise<Response>;
}
