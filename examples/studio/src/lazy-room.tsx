import { type ComponentType, lazy } from "react";
import { Masthead } from "./masthead.js";

/** A room whose script is fetched when it is first shown; one that can't be fetched says so. */
export function lazyRoom(load: () => Promise<ComponentType>) {
  return lazy(async () => ({ default: await load().catch(() => Unreachable) }));
}

function Unreachable() {
  return (
    <>
      <Masthead />
      <main className="unreachable" role="alert">
        <p>
          This room could not be fetched: there is no connection, or the studio was replaced by a newer one.
        </p>
        <button type="button" className="main" onClick={() => location.reload()}>
          Load the page again
        </button>
      </main>
    </>
  );
}
