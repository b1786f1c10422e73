import { registerHooks } from "node:module";

/*
 * An alias of Vite's ends where Node loads a dependency itself: @testing-library/react, and react-dom 18 in turn, ask
 * for "react" and must get the same one as the sources.
 */
registerHooks({
  resolve(specifier, context, resolveNext) {
    const wanted = specifier.replace(/^(react|react-dom)(?=\/|$)/, "$1-18");
    if (wanted === specifier) return resolveNext(specifier, context);
    return resolveNext(wanted, { ...context, parentURL: import.meta.url });
  },
});
