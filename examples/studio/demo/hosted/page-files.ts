/*
 * The files of the page in the browser's cache: the page opens without a network. A file with a hash in its name never
 * changes; all others come from the network where there is one.
 */

/** Cache of the files, and the way to them. */
export interface PageFiles {
  /** Answers a request for a file of the page. */
  answer(request: Request, preloaded?: Promise<Response | undefined>): Promise<Response>;
  /** Loads what the page needs to open and to answer without a network, and is not there yet. */
  loadCore(core: readonly string[]): Promise<void>;
  /** Forgets the files of earlier builds. */
  forgetOthers(files: readonly string[]): Promise<void>;
}

/** @param base address of the page, with a slash at its end */
export function openPageFiles(base: string): PageFiles {
  const { fetch: load } = globalThis;
  const opening = () => caches.open(`${base} files`);
  return { answer, loadCore, forgetOthers };

  async function answer(request: Request, preloaded?: Promise<Response | undefined>): Promise<Response> {
    const cache = await opening();
    const key = keyOf(request.url);
    const hasHash = key.startsWith(`${base}assets/`);
    const known = hasHash ? await cache.match(key) : undefined;
    return known ?? loaded(cache, request, preloaded);
  }

  async function loaded(cache: Cache, request: Request, preloaded?: Promise<Response | undefined>) {
    const key = keyOf(request.url);
    try {
      const response = (await preloaded) ?? (await load(request));
      if (response.status === 200) await keep(cache, key, response.clone());
      return response;
    } catch (error) {
      const known = await cache.match(key);
      if (known) return known;
      throw error;
    }
  }

  async function loadCore(core: readonly string[]): Promise<void> {
    const cache = await opening();
    for (const path of core)
      if (!(await cache.match(base + path))) {
        const response = await load(base + path);
        if (response.ok) await keep(cache, base + path, response);
      }
  }

  async function forgetOthers(files: readonly string[]): Promise<void> {
    const cache = await opening();
    const known = new Set(files.map((path) => base + path));
    for (const { url } of await cache.keys()) if (!known.has(url)) await cache.delete(url);
  }
}

/** A full disk keeps no file: the page works as long as there is a network. */
async function keep(cache: Cache, key: string, response: Response): Promise<void> {
  await cache.put(key, response).catch(() => {});
}

/** Address without what the server does not see, or does not care about: `index.html` is the page. */
function keyOf(url: string): string {
  return url.replace(/[?#].*$/, "").replace(/\/index\.html$/, "/");
}
