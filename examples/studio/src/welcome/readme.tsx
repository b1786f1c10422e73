import readme from "../../../../README.md?raw";
import { Markdown } from "../chat/markdown.js";
import { closeOverlay } from "../shell/panels.js";
import { Dialog } from "../ui/popups.js";

/** Links of the README lead to files of the repository, which this page does not have: their text is left. */
const text = readme.replace(/!?\[([^\]]*)\]\((?!https?:)[^)]*\)/g, "$1");

/** The README of the project, which is there without a network, too. */
export function Readme() {
  return (
    <Dialog title="README" isOpen onOpenChange={closeOverlay}>
      <Markdown text={text} isLive={false} />
    </Dialog>
  );
}
