import { useEffect, useState } from "react";
import { type Counts, type Inventory, takeInventory } from "./inventory.js";
import { formatBytes } from "./texts.js";

/** Locks and records of this origin, counted when the view opens and on a click. */
export function StorageView() {
  const [inventory, setInventory] = useState<Inventory>();
  const count = () => void takeInventory().then(setInventory);
  useEffect(count, []);
  if (!inventory) return <p>Counting …</p>;
  const { locks, places, usage, quota } = inventory;
  return (
    <>
      <button type="button" onClick={count}>
        Count again
      </button>
      <h2>Locks</h2>
      {!locks && <p>This browser lists no locks.</p>}
      {locks && <CountTable name="Held" counts={locks.held} />}
      {locks && <CountTable name="Waited for" counts={locks.pending} />}
      <h2>Records</h2>
      {places.length === 0 && <p>Nothing is stored.</p>}
      {places.map(({ name, counts }) => (
        <CountTable key={name} name={name} counts={counts} />
      ))}
      {usage !== undefined && quota !== undefined && (
        <p className="muted">
          {formatBytes(usage)} of {formatBytes(quota)} used by this origin
        </p>
      )}
    </>
  );
}

function CountTable({ name, counts }: { readonly name: string; readonly counts: Counts }) {
  return (
    <table aria-label={name}>
      <caption>
        {name}
        {counts.length === 0 && ": none"}
      </caption>
      <tbody>
        {counts.map(([counted, count]) => (
          <tr key={counted}>
            <td>{counted}</td>
            <td>{count}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
