{
  description = "Winnow keeps the session of a coding agent inside its context window, and its bill down";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      program = pkgs: name: pkgs.buildGoModule {
        pname = name;
        version = self.lastModifiedDate or "0";
        src = self;
        # internal/packages/check.sh computes it: the hash of "go mod vendor".
        vendorHash = "sha256-TvPan6wYN0rKys70A/T+IBW5QSTjrnRFFK02Fhsvg+s=";
        subPackages = [ "cmd/${name}" ];
        env.CGO_ENABLED = 0;
        ldflags = [ "-s" "-w" ];
        doCheck = false; # the tests start servers and a browser
        meta = {
          homepage = "https://github.com/winnowhq/winnow";
          license = pkgs.lib.licenses.mit;
          mainProgram = name;
        };
      };
    in {
      packages = nixpkgs.lib.genAttrs systems (system:
        let pkgs = nixpkgs.legacyPackages.${system}; in rec {
          winnow = program pkgs "winnow";
          winnowd = program pkgs "winnowd";
          default = winnow;
        });
    };
}
