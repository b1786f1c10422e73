import "./index.css";
import { createRoot } from "react-dom/client";
import { StudioApp } from "./app";

createRoot(document.getElementById("root") as HTMLElement).render(<StudioApp />);
