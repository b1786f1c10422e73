import { type ReactNode, useEffect } from "react";
import { Masthead } from "../masthead.js";
import { hasFiles } from "./dropped.js";
import "./form/form.css";
import "./room.css";

/** A room with a form, and beside it what was made. */
export function Workroom({ children }: { children: ReactNode }) {
  useEffect(refuseStrayFiles, []);
  return (
    <div className="workroom">
      <Masthead />
      <main>{children}</main>
    </div>
  );
}

/** A browser leaves the page for a file that is dropped beside its field. */
function refuseStrayFiles(): () => void {
  const refuse = (event: DragEvent) => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
  };
  addEventListener("dragover", refuse);
  return () => removeEventListener("dragover", refuse);
}
