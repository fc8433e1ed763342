// The description of the toy machine, as the plugin hands it to the host.
#pragma once

#include <string_view>

namespace zomboss::toy {

inline constexpr std::string_view kTaidl = R"(# A tiny int8 matrix machine, for tests.
target toy "Toy matrix machine" {
  param DIM  = 8 in {4, 8, 16};
  param ROWS = 256;
  param AROWS = 64;
  engine dma, mat, vec;

  memory hbm  : u8[*]            offchip align=8;
  memory spad : s8[ROWS][DIM]    banks=2;
  memory acc  : s32[AROWS][DIM];
  state  stride : 1..65535 = 8   config;        # bytes between HBM rows
  state  wreg   : s8[DIM][DIM] = 0 hidden;      # weights held in the array

  instr set_stride(s: int in 1..65535) engine dma {
    sets stride = s;
    cost cycles = 1;
    emit "set_stride {s}";
  }
  instr load(n: int in 1..DIM, src: addr hbm, dst: addr spad) engine dma {
    requires stride >= DIM : "HBM rows would overlap";
    read  x = hbm[src +: n * DIM] stride stride;     # n runs of DIM bytes
    write spad[dst +: n] = y;
    sem {
      b = s8[n*DIM] bitcast-convert(x)
      y = s8[n,DIM] reshape(b)
    }
    cost cycles = 20 + n;
    emit "load {n}, {src}, {dst}";
  }
  instr load_w(src: addr spad align DIM) engine mat {
    read x = spad[src +: DIM];
    sets wreg = x;
    cost cycles = DIM;
    emit "load_w {src}";
  }
  instr mac(n: int in 1..DIM, a: addr spad, d: addr acc, first: int in {0, 1}) engine mat {
    read x = spad[a +: n];
    when first == 1 { write  acc[d +: n]  = p; }
    when first == 0 { update acc[d +: n] += p; }
    sem {
      xi = s32[n,DIM] convert(x)
      wi = s32[DIM,DIM] convert(wreg)
      p  = s32[n,DIM] dot(xi, wi), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    }
    cost cycles = n + DIM;
    emit "mac.{first} {n}, {a}, {d}";
  }
  instr store(n: int in 1..DIM, s: addr acc, dst: addr hbm) engine vec {
    read v = acc[s +: n];
    write hbm[dst +: n * DIM * 4] stride stride = o;
    sem {
      b = u8[n,DIM,4] bitcast-convert(v)
      o = u8[n*DIM*4] reshape(b)
    }
    cost cycles = 12 + n;
    emit "store {n}, {s}, {dst}";
  }
}
)";

}  // namespace zomboss::toy
