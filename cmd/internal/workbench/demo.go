package workbench

import (
	"cmp"
	"path/filepath"

	"github.com/winnowhq/winnow/agent/chat/demo"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/store/memory"
)

// demoPrompt is what run --demo asks for when nothing is said.
const DemoPrompt = "tour"

// demo is a workbench on a made-up project, with scripted models, settings for a small window, and
// nothing that outlives it.
func (b *Bench) demo() error {
	folder, err := b.temporary("winnow-demo-")
	if err != nil {
		return err
	}
	states, err := b.temporary("winnow-demo-states-")
	if err != nil {
		return err
	}
	b.states = filepath.Join(states, "snapshots")
	d, err := demo.Start(folder)
	if err != nil {
		return err
	}
	b.close = append(b.close, d.Close)
	b.Folder, b.app.Env.Dir = folder, folder
	b.settings = config.Default()
	b.settings.Providers = map[string]config.Provider{demo.Provider: {Provider: providers.Provider{
		Protocol: d.Protocol(), BaseURL: d.BaseURL(), Headers: map[string]string{"x-api-key": "none"}}}}
	d.Tighten(&b.settings)
	b.Models, b.store = d.Models(), memory.New()
	b.Model = cmp.Or(b.app.Model, demo.Small)
	return nil
}
