import { useDeferredValue } from "react";
import { useValue } from "../value.js";
import { inspected } from "./inspected.js";
import { Tree } from "./tree.js";

/** The snapshot of the store of the room, live. */
export function StateView() {
  const shown = useDeferredValue(useValue(inspected));
  if (!shown) return null;
  return (
    <div className="p-3 font-mono text-xs">
      <Tree key={shown.work.room} name={shown.work.room} value={shown.state} depth={1} />
    </div>
  );
}
