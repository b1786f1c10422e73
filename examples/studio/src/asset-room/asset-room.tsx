import { useSyncExternalStore } from "react";
import { Workroom } from "../room/workroom.js";
import { AssetCard } from "./asset-card.js";
import { AssetForm } from "./asset-form.js";
import { registered } from "./registered.js";
import "../video-room/tasks.css";
import "./assets.css";

/** Where images are registered, so that videos can be made of them. */
export function AssetRoom() {
  const assets = useSyncExternalStore(registered.subscribe, registered.getSnapshot);
  return (
    <Workroom>
      <AssetForm />
      <section className="made" aria-label="Registered assets">
        {assets.length === 0 ? (
          <p className="nothing">What is registered in this browser is listed here.</p>
        ) : (
          <ul className="tasks" aria-label="Assets">
            {assets.map((known) => (
              <li key={known.id}>
                <AssetCard known={known} />
              </li>
            ))}
          </ul>
        )}
      </section>
    </Workroom>
  );
}
