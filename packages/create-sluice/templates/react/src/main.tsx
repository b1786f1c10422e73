import { createRoot } from "react-dom/client";
import { modelNames } from "../server/models";
import { ChatApp } from "./chat/app";

createRoot(document.getElementById("root") as HTMLElement).render(<ChatApp models={modelNames} />);
