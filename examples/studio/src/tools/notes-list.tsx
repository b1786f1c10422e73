import { useSyncExternalStore } from "react";
import { dropNote, notes } from "./notes.js";
import "./notes-list.css";

/** What `save_note` was allowed to keep. */
export function NotesList() {
  const kept = useSyncExternalStore(notes.subscribe, notes.getSnapshot);
  if (kept.length === 0) return null;
  return (
    <section className="notes" aria-label="Notes">
      <h2>Notes</h2>
      <ul>
        {kept.map((text, place) => (
          <li key={place}>
            <span dir="auto">{text}</span>
            <button
              type="button"
              className="quiet small"
              aria-label={`Throw away note ${place + 1}`}
              onClick={() => dropNote(place)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
