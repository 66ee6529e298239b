import { render } from "preact";
import { connectWhileSeen } from "./live/session";
import { App } from "./shell/app";
import { followAddress } from "./shell/route";
import "./shell/base.css";
import "./fleet/fleet.css";
import "./node/node.css";
import "./shell/shell.css";
import "./shell/view.css";
import "./plan/plan.css";

followAddress();
connectWhileSeen();
const root = document.getElementById("console");
if (root) render(<App />, root);
