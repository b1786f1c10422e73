/*
 * The files of the page in the browser's cache, so that the page opens without a network. A file with a hash in its name
 * never changes. All other files come from the network if there is one.
 */

/** The files of the page. */
export interface PageFiles {
  /** Responds to a request for a file of the page. */
  respond(request: Request, preloaded?: Promise<Response | undefined>): Promise<Response>;
  /** Loads the missing files that the page needs to open and to respond without a network. */
  loadCore(core: readonly string[]): Promise<void>;
  /** Forgets the files of earlier builds. */
  forgetOthers(files: readonly string[]): Promise<void>;
}

/** @param base address of the page, with a slash at its end */
export function openPageFiles(base: string): PageFiles {
  const { fetch } = globalThis;
  const openCache = () => caches.open(`${base} files`);
  return { respond, loadCore, forgetOthers };

  async function respond(request: Request, preloaded?: Promise<Response | undefined>): Promise<Response> {
    const cache = await openCache();
    const key = getKey(request.url);
    const hasHash = key.startsWith(`${base}assets/`);
    const known = hasHash ? await cache.match(key) : undefined;
    return known ?? load(cache, request, preloaded);
  }

  async function load(cache: Cache, request: Request, preloaded?: Promise<Response | undefined>) {
    const key = getKey(request.url);
    try {
      const response = (await preloaded) ?? (await fetch(request));
      if (response.status === 200) await store(cache, key, response.clone());
      return response;
    } catch (error) {
      const known = await cache.match(key);
      if (known) return known;
      throw error;
    }
  }

  async function loadCore(core: readonly string[]): Promise<void> {
    const cache = await openCache();
    for (const path of core)
      if (!(await cache.match(base + path))) {
        const response = await fetch(base + path);
        if (response.ok) await store(cache, base + path, response);
      }
  }

  async function forgetOthers(files: readonly string[]): Promise<void> {
    const cache = await openCache();
    const known = new Set(files.map((path) => base + path));
    for (const { url } of await cache.keys()) if (!known.has(url)) await cache.delete(url);
  }
}

/** Stores a file. Without space, the page still works with a network. */
async function store(cache: Cache, key: string, response: Response): Promise<void> {
  await cache.put(key, response).catch(() => {});
}

/** Address without query and fragment. `index.html` is the page. */
function getKey(url: string): string {
  return url.replace(/[?#].*$/, "").replace(/\/index\.html$/, "/");
}
