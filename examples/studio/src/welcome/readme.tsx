import type { ReactNode } from "react";
import { Streamdown } from "streamdown";
import readme from "../../../../README.md?raw";
import { closeOverlay } from "../shell/overlay.js";
import { Dialog } from "../ui/popups.js";

/** The README of the project, which is there without a network, too. */
export function Readme() {
  return (
    <Dialog title="README" isOpen onOpenChange={closeOverlay}>
      <div className="text-sm">
        <Streamdown mode="static" components={{ a: NoLink }}>
          {readme}
        </Streamdown>
      </div>
    </Dialog>
  );
}

/** The links of the README lead to files of the repository, which this page does not have. */
function NoLink({ children }: { readonly children?: ReactNode; readonly node?: unknown }) {
  return <span className="font-medium">{children}</span>;
}
