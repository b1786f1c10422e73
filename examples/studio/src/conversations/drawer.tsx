import { type ReactNode, useRef } from "react";
import "./drawer.css";

interface DrawerProps {
  /** What the drawer holds, and the button that opens it is called. */
  readonly name: string;
  readonly children: ReactNode;
}

/** What has no room beside the conversation: a panel over it. Whoever follows a link in it is done with it. */
export function Drawer({ name, children }: DrawerProps) {
  const panel = useRef<HTMLDialogElement>(null);
  const shut = () => panel.current?.close();
  return (
    <>
      <button
        type="button"
        className="quiet icon"
        aria-label={name}
        title={name}
        aria-haspopup="dialog"
        onClick={() => panel.current?.showModal()}
      >
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path
            d="M3 5.5h14M3 10h14M3 14.5h9"
            stroke="currentColor"
            strokeWidth="1.5"
            strokeLinecap="round"
          />
        </svg>
      </button>
      <dialog
        ref={panel}
        className="drawer"
        aria-label={name}
        onClick={({ target, currentTarget }) => {
          // only the backdrop is the dialog itself: what is on it is in the body
          if (target === currentTarget || (target as Element).closest("a")) shut();
        }}
        // Escape closes the drawer, and does not stop the answer as well
        onKeyDown={(event) => event.key === "Escape" && event.stopPropagation()}
      >
        <div className="body">
          <header>
            <h2>{name}</h2>
            <button type="button" className="quiet small" onClick={shut}>
              Close
            </button>
          </header>
          {children}
        </div>
      </dialog>
    </>
  );
}
